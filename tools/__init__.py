"""Scripts that create the pictures of the documentation."""

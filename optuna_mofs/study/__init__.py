"""What this package writes into a study and reads back."""

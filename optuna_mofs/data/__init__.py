"""X and y before any search: rows, columns, target and cross-validation splits."""

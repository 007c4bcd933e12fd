"""Samplers for feature selection and tuning."""

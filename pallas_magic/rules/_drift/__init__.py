"""What rules about names and parameters that left Pallas share."""

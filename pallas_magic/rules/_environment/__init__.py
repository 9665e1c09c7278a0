"""What the rules of the environment share: nothing is wrong with the kernel."""

"""What rules about copies and semaphores of TPU kernels share."""

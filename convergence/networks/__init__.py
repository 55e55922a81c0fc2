"""Networks as the function that the workers compute: images, architectures, training and paired trials."""

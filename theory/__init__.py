"""What the papers claim, as values, and the exact evidence for or against each."""

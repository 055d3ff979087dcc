"""What is published: the counts with their measurements, manifest and evidence; reading and writing them."""

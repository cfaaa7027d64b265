"""A session as one HTML file for other people: secrets removed, nothing loaded from elsewhere."""

"""What servers offer: tools, prompts and resources, and what they answer."""

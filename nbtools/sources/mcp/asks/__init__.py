"""What servers ask of us: answers of the person, texts of the model, folders."""

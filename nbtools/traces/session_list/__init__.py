"""The list of the sessions of all agents on this machine, in notebooks, in JupyterLab and in terminals."""

"""Runs tool calls through their states; knows no concrete tool."""

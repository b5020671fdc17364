"""What stands between the network and the app: who is answered, and to which pages of others."""

"""Protection of the app from the network: who gets answers, and which sites may embed it."""

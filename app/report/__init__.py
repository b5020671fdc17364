"""Reports: one comparison, map, training, judgement or decision as a file that needs no server."""

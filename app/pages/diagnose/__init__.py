"""What a decoder gives back."""

JOBS = {"diagnose": "service:DiagnoseJob"}

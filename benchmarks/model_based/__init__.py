"""ParEGOSampler and SMSEGOSampler compared with other samplers."""

"""ParEGOSampler and SMSEGOSampler against what people use today."""

package reports

// LogFolder is the folder of the logs of all processes, in a scenario's folder.
const LogFolder = "logs"

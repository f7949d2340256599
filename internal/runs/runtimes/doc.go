// Package runtimes has the places where a plan can run. Local is a private
// network of namespaces; Docker starts the nodes of a service in containers;
// Compose joins a project that runs; External uses servers at given addresses.
// Auto takes Docker if an engine answers and has the images, else Local.
//
// Choose makes the Runtime that a Where asks for. Its Run starts the calling program again,
// inside a sandbox or a container, with the word ScenarioVerb and the folder of a scenario.
// The program must then run the plan in that folder (runs.Tool.RunInside, with Carry). To
// try which faults the machine can do, the program is started with the word ProbeVerb.
//
// Errors that are the user's, such as a wrong address, carry the exit status exit.Usage.
package runtimes

// Package agent is what every runtime knows of an agent, the inner program that runs beside nodes
// which are there already: containers, pods, or relays to given servers. Outside it is Started,
// and told what to run. Inside it finds itself Joined to a network and attached to nodes.
package agent

import "time"

// Grace is how long an agent may take to heal and to record, once its input has ended.
const Grace = 10 * time.Second

package director

import (
	"context"
	"slices"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Join makes a client of one that has come in the place of another: what is
// aimed at that by its number strikes the newcomer from now on. A place without
// a host, here or elsewhere, is one that has ended already.
func (d *Director) Join(client, member int32, place nemesis.Place, proc *hosts.Process) {
	dead := place.Host == nil && place.Far == nil
	if !dead {
		d.set.Net.Join(place)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients = max(d.clients, client)
	d.procs[client], d.far[client], d.selves[member] = proc, place, client
	if dead {
		d.killed[client] = Absence{}
	}
}

// Lose notes that a client is gone, and that nobody goes on under its number.
func (d *Director) Lose(client int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed[client] = Absence{}
	d.holders = slices.DeleteFunc(d.holders, func(h nemesis.Holding) bool { return h.Client == client })
}

// Condemn notes that a client is killed, before it is. It returns false if a
// fault strikes the client now, or it is killed or closed already.
func (d *Director) Condemn(client int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, dead := d.killed[client]; dead || d.struck[client] {
		return false
	}
	d.killed[client] = Absence{}
	return true
}

// Death is why a client is dead, if it is.
func (d *Director) Death(client int32) (why Absence, dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	why, dead = d.killed[client]
	return why, dead
}

// Dead reports whether a fault has killed the client, or it is closed to free a stuck key.
func (d *Director) Dead(client int32) bool {
	_, dead := d.Death(client)
	return dead
}

// Leave notes that a client's application is done. It returns false if the
// client is to be closed, or was killed: then that comes first.
func (d *Director) Leave(client int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, away := d.killed[client]
	d.left[client] = !away
	return !away
}

// Present lists the workload's clients that are not away and whose applications have not left.
func (d *Director) Present() (all []int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := int32(1); c <= d.clients; c++ {
		if _, away := d.killed[c]; !away && !d.left[c] {
			all = append(all, c)
		}
	}
	return all
}

// Retire has a client closed by its application, which asks for it at each
// step, and returns its process; nil: its application has left.
func (d *Director) Retire(client int32, c *Closing) *hosts.Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left[client] {
		return nil
	}
	d.killed[client] = Absence{Closing: c}
	return d.procs[client]
}

// Replace is told that a fresh process has taken the killed client's place.
func (d *Director) Replace(client int32, proc *hosts.Process, app nemesis.Application) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.killed, client)
	d.procs[client], d.apps[client] = proc, app
}

// Knows reports whether a client has processes, here or elsewhere.
func (d *Director) Knows(client int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.procs[client] != nil || d.far[client].Far != nil
}

// AwaitEmpty waits until no process of a client lives.
func (d *Director) AwaitEmpty(ctx context.Context, client int32) error {
	d.mu.Lock()
	at, proc := d.far[client], d.procs[client]
	d.mu.Unlock()
	if at.Far != nil {
		return at.Far.Emptied(ctx, at.Name)
	}
	return nemesis.AwaitNoProcess(ctx, proc.Host())
}

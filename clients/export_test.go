package clients

// Held is how many renewals have been held up since the gate was shut.
func (g *Gate) Held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

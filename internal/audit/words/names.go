package words

// Names numbers names in the order in which they come.
type Names struct {
	ids  map[string]int32
	List []string // by number
}

// NewNames returns no names yet.
func NewNames() Names { return Names{ids: map[string]int32{}} }

// quick is the number of a name that is proper text.
func (n *Names) quick(name []byte) (int32, bool) {
	if id, ok := n.ids[string(name)]; ok {
		return id, true
	}
	if !proper(name) {
		return 0, false
	}
	return n.ID(string(name)), true
}

// ID is the number of a name.
func (n *Names) ID(name string) int32 {
	id, ok := n.ids[name]
	if !ok {
		id = int32(len(n.List))
		n.ids[name] = id
		n.List = append(n.List, name)
	}
	return id
}

// Find returns the number of a name that has come.
func (n *Names) Find(name string) (int32, bool) {
	id, ok := n.ids[name]
	return id, ok
}

// Rename gives the name of a number another one.
func (n *Names) Rename(id int32, name string) {
	delete(n.ids, n.List[id])
	n.ids[name], n.List[id] = id, name
}

// Numbering gives the numbers that a worker has for keys and owners those of the log.
type Numbering struct{ keys, owners []int32 }

// Take gives what one worker has said, and nobody else, the numbers of the log.
func (n *Numbering) Take(p *BlockResult, keys, owners *Names) {
	if p.anew {
		*n = Numbering{}
	}
	for _, name := range p.keys {
		n.keys = append(n.keys, keys.ID(name))
	}
	for _, name := range p.owners {
		n.owners = append(n.owners, owners.ID(name))
	}
	for i := range p.Events {
		e := &p.Events[i]
		e.Key, e.Owner = n.keys[e.Key], n.owners[e.Owner]
	}
}

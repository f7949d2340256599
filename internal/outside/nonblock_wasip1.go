package outside

// nonblock is nothing in the simulation: an adapter there has no pipes.
const nonblock = 0

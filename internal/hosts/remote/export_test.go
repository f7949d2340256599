package remote

// Relayed starts a relay for tests of other packages.
var Relayed = relayed

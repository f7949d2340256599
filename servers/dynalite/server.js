// Runs dynalite as its own command does, with one difference: a client that goes away in the middle of a request must not end the server.
process.on('uncaughtException', (err) => {
  if (err.code === 'ECONNRESET' || err.code === 'EPIPE') return
  console.error(err)
  process.exit(1)
})
require('dynalite/cli.js')

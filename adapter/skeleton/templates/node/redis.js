class ServerError extends Error {}

// Just enough of a Redis client to send a script. Your library goes here.
class Redis {
  constructor(address) {
    const colon = address.lastIndexOf(':');
    this.host = address.slice(0, colon);
    this.port = Number(address.slice(colon + 1));
  }

  eval(script, keys, args, end) {
    const words = ['EVAL', script, String(keys.length), ...keys, ...args.map(String)];
    const text = `*${words.length}\r\n${words.map((w) => `$${Buffer.byteLength(w)}\r\n${w}\r\n`).join('')}`;
    return new Promise((resolve, reject) => {
      const fail = (error) => { this.close(); reject(error); }; // a late answer must not be taken for that of the next call
      // A call without a time limit hangs when the network does.
      const timer = setTimeout(() => fail(new Error('timeout')), Math.max(end - nowMs(), 1));
      const socket = this.socket ??= net.connect(this.port, this.host).setNoDelay(true);
      let reply = '';
      socket.removeAllListeners('data').removeAllListeners('error').removeAllListeners('close');
      socket.on('error', (e) => { clearTimeout(timer); fail(e); });
      socket.on('close', () => { clearTimeout(timer); fail(new Error('the server closed the connection')); });
      socket.on('data', (data) => {
        reply += data;
        if (!reply.endsWith('\r\n')) return;
        clearTimeout(timer);
        if (reply[0] === ':') resolve(Number(reply.slice(1)));
        else reject(new ServerError(reply.trim()));
      });
      socket.write(text);
    });
  }

  close() {
    if (this.socket) {
      this.socket.removeAllListeners('close').on('error', () => {}).destroy();
      this.socket = null;
    }
  }
}

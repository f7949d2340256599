"use strict";
// Hands each message of a stream to a function, until that says that nothing more will come.
function follow(path, last) {
  const source = new EventSource(path);
  source.onmessage = m => { if (last(JSON.parse(m.data))) source.close(); };
  // A browser tries again by itself when a connection breaks, and never when it was refused, as where too many follow.
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) setTimeout(follow, 3000, path, last); };
}

/** Another client holds the key, and nothing of this acquire is left at the service. */
export class Busy extends Error {}
/** The service says that the key is no longer this client's. */
export class NotHeld extends Error {}

/** What lockchaos gives to the function that returns a lock. */
export interface Context {
  /** The service's addresses, "host:port". */
  nodes: string[];
  /** The lease, in milliseconds. */
  ttl: number;
  client: string;
  /** A folder that all clients share, for locks on files. */
  dir: string;
  seed: number;
  service: string;
  account: { user?: string; password?: string; database?: string };
  /** Tells that the present grant of a key is lost. */
  lost(key: string, why?: string): void;
}

export interface Asked {
  mode?: 'read' | 'write';
  permits?: number;
  keys: string[];
}

type Maybe<T> = T | Promise<T>;

/** A lock: what it has besides acquire and release is used, too. Times are in milliseconds. */
export interface Lock {
  acquire(key: string, timeout: number, asked: Asked): Maybe<unknown>;
  release(key: string): Maybe<unknown>;
  renew?(key: string, timeout: number): Maybe<unknown>;
  held?(key: string, timeout: number): Maybe<unknown>;
  token?: unknown;
  close?(): Maybe<unknown>;
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** What is examined, and what the lock promises, in the words of docs/protocol.md. */
export interface Options {
  service: string;
  /** The lease, in milliseconds; lockchaos chooses one if it is left out. */
  ttl?: number;
  attacks?: string | string[];
  short?: boolean;
  /** The time that the exam may take, such as "10m". */
  budget?: string;
  /** Fail also by what no lease prevents. */
  inherent?: boolean;
  /** What of acquire says that another client holds the key, and that nothing of the attempt is left. */
  busy?: false | ErrorClass | (false | ErrorClass)[];
  /** The errors that say that the key is no longer this client's. */
  notHeld?: ErrorClass | ErrorClass[];
  /** The test file, if it is not the caller's. */
  file?: string | URL;
  name?: string;
  validity?: 'from_invocation' | 'library' | 'session';
  token?: 'fencing' | 'version' | 'owner' | 'none';
  confirms?: ('release' | 'held' | 'renew')[];
  can?: ('held' | 'renew')[];
  lost_grace_ms?: number;
  notices?: 'undisturbed' | 'alone';
  tolerates?: 'minority';
  identity?: 'unique' | 'process' | 'host' | 'none';
  abandons_ms?: number;
  lease_ms?: number;
  fair?: boolean;
  permits?: number;
  permits_per_acquire?: number;
  multi_key?: number;
  no_expiry?: boolean;
  reentrant?: boolean;
  read_write?: boolean;
}

/** Makes a test of each attack on the lock that `open` returns. */
export function examine(name: string, options: Options, open: (context: Context) => Maybe<Lock>): void;

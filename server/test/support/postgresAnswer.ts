/**
 * Returns a function that reads a server's bytes and returns true once the server is ready for the next query: by
 * then the transaction is committed.
 */
export function readyWatcher(): (bytes: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 5) {
      const end = 1 + rest.readUInt32BE(1);
      if (rest.length < end) return false;
      if (rest[0] === "Z".charCodeAt(0)) return true;
      rest = rest.subarray(end);
    }
    return false;
  };
}

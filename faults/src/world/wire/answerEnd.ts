/** Takes the bytes of an answer as they come, and says when it is whole. */
export type AnswerEnd = (bytes: Buffer) => boolean;

/** PostgreSQL is ready for the next query: by then the transaction is committed. */
export function postgresAnswerEnd(): AnswerEnd {
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

/** The first bytes of an HTTP answer are enough: whoever gives it has done the work. */
export function httpAnswerEnd(): AnswerEnd {
  return (bytes) => bytes.length > 0;
}

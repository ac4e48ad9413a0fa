const emptyLine = Buffer.from("\r\n\r\n");

/**
 * Where the first empty line in `bytes` ends, which is where a head does (RFC 9112, section 2.1); undefined without one.
 * @param seam The last bytes that were read before, at most three, which may belong to that line.
 */
export function endOfHead(seam: Buffer, bytes: Buffer): number | undefined {
  if (seam.length > 0) {
    const joint = Buffer.concat([seam, bytes.subarray(0, emptyLine.length - 1)]);
    const at = joint.indexOf(emptyLine);
    if (at >= 0) return at + emptyLine.length - seam.length;
  }
  const at = bytes.indexOf(emptyLine);
  return at < 0 ? undefined : at + emptyLine.length;
}

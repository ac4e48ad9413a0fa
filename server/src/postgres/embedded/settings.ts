import { totalmem } from "node:os";

const megabyte = 2 ** 20;

/**
 * The server's settings, given on its command line at every start so that they belong to the version of the
 * service and not to the cluster. Names are PostgreSQL's.
 */
export function serverSettings(memoryBytes = availableMemory()): Record<string, string> {
  const sharedBuffersMb = Math.max(32, Math.min(256, Math.floor(memoryBytes / megabyte / 8)));
  return {
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    shared_buffers: `${sharedBuffersMb}MB`,
    max_connections: "60",
    // Recycled segments are kept ahead: making a new one inside a commit is what costs latency.
    min_wal_size: "1GB",
    max_wal_size: "4GB",
    checkpoint_timeout: "15min",
    autovacuum_naptime: "5s",
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    // Statements and details can hold payloads; they stay out of the log.
    log_min_messages: "warning",
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    log_checkpoints: "off",
    log_line_prefix: "",
    logging_collector: "off",
    log_destination: "stderr",
  };
}

/** The container's memory limit where there is one, in bytes. */
function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

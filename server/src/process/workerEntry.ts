// Ctrl-C in a terminal signals all processes of the service. The supervisor decides when each of them stops.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
// The port and the embedded database end with the supervisor, so this process ends at once, as after `kill -9`.
process.once("disconnect", () => process.exit(1));

const { serveAsWorker } = await import("./serveAsWorker.ts");
await serveAsWorker(process.env);

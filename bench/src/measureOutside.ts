import { printTable } from "./figures.ts";
import { outsideOptions } from "./outside/commandLine.ts";
import { outsideFigures } from "./outside/outside.ts";

/*
 * npm run bench:outside -- --base-url URL --path PATH [--method POST] [--header 'name: value']... [--body TEMPLATE]
 *   [--receiver-host 127.0.0.1] [--receiver-port 9400] [--connections 64] [--seconds 10] [--rate 100] [--data-bytes 400]
 *   [--patience-seconds 15]
 * Measures any service that accepts events over HTTP and posts them to a destination. Exits with 1 if an event was lost.
 */
const figures = await outsideFigures(outsideOptions(process.argv.slice(2)));
printTable(figures);
process.exitCode = figures.every((figure) => figure.isMet !== false) ? 0 : 1;

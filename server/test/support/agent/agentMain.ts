/* A peer for tests: an agent built with the official SDK, in a separate process. Options come as JSON in argv. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { type AgentCard, type ListTasksRequest, type ListTasksResponse, Task } from "@a2a-js/sdk";
import { DefaultRequestHandler, InMemoryTaskStore, type ServerCallContext } from "@a2a-js/sdk/server";
import { agentCardHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express, { type NextFunction, type Request, type Response } from "express";
import type { AgentOptions, AgentReport } from "./agentOptions.ts";
import { ObedientExecutor } from "./executor.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as AgentOptions;
const report: AgentReport = { requests: [], tasks: [], cardReads: 0, conditionalReads: 0 };
const path = options.path ?? "/a2a";

/** A task store that survives the process when `storePath` is set. */
class FileTaskStore extends InMemoryTaskStore {
  readonly #tasks: Record<string, unknown> = {};
  #isRestored = false;

  override async save(task: Task, context: ServerCallContext): Promise<void> {
    await this.#restore(context);
    await super.save(task, context);
    if (options.storePath === undefined) return;
    this.#tasks[task.id] = Task.toJSON(task);
    // Written atomically, because tests kill the agent at any moment.
    writeFileSync(`${options.storePath}.next`, JSON.stringify(this.#tasks));
    renameSync(`${options.storePath}.next`, options.storePath);
  }

  override async load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    await this.#restore(context);
    return super.load(taskId, context);
  }

  override async list(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    await this.#restore(context);
    return super.list(params, context);
  }

  async #restore(context: ServerCallContext): Promise<void> {
    const { storePath } = options;
    if (this.#isRestored || storePath === undefined || !existsSync(storePath)) return;
    this.#isRestored = true;
    Object.assign(this.#tasks, JSON.parse(readFileSync(storePath, "utf8")));
    for (const task of Object.values(this.#tasks)) await super.save(Task.fromJSON(task), context);
  }
}

const card: AgentCard = {
  name: "Obedient agent",
  description: "Does as it is told",
  version: "1.2.3",
  supportedInterfaces: [],
  provider: undefined,
  capabilities: {
    streaming: false,
    pushNotifications: options.pushNotifications ?? false,
    extensions: [{ uri: "urn:test:extension", description: "", required: false, params: undefined }],
    extendedAgentCard: false,
  },
  securitySchemes: {
    bearer: {
      scheme: {
        $case: "httpAuthSecurityScheme",
        value: { description: "", scheme: "Bearer", bearerFormat: "" },
      },
    },
  },
  securityRequirements: [],
  defaultInputModes: ["text/plain", "application/json"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
};

const store = new FileTaskStore();
const handler = new DefaultRequestHandler(
  card,
  store,
  new ObedientExecutor((taskId) => report.tasks.push(taskId)),
);
const app = express();

app.get("/control/report", (_request: Request, response: Response) => void response.json(report));
app.use(
  "/card.json",
  (request: Request, _response: Response, next: NextFunction) => {
    report.cardReads++;
    if (request.header("if-none-match") !== undefined) report.conditionalReads++;
    next();
  },
  agentCardHandler({ agentCardProvider: async () => ({ ...card, ...options.card }) }),
);
app.use(path, express.json({ type: () => true, limit: "8mb" }), watch);
if (options.taskList === "absent") {
  app.get(`${path}/tasks`, (_request: Request, response: Response) => void response.status(404).end());
}
app.use(path, restHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));

function watch(request: Request, response: Response, next: NextFunction): void {
  const authorization = request.header("authorization") ?? null;
  report.requests.push({
    method: request.method,
    path: request.path,
    authorization,
    version: request.header("a2a-version") ?? null,
    extensions: request.header("a2a-extensions") ?? null,
    traceparent: request.header("traceparent") ?? null,
    body: (request.body as AgentReport["requests"][number]["body"] | undefined) ?? null,
  });
  if (options.token !== undefined && authorization !== `Bearer ${options.token}`) {
    // A careless agent: it repeats the credential that it received.
    response.status(401).json({ error: { code: 401, message: `who is ${authorization ?? "nobody"}?` } });
    return;
  }
  next();
}

const server = app.listen(options.port ?? 0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  card.supportedInterfaces = [
    {
      url: `http://127.0.0.1:${port}${path}`,
      protocolBinding: "HTTP+JSON",
      protocolVersion: "1.0",
      tenant: options.tenant ?? "",
    },
  ];
  process.stdout.write(`listening on ${port}\n`);
});

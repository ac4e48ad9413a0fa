import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Artifact, type Message, type Part, Role, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from "@a2a-js/sdk/server";

/**
 * An agent that follows the command in its message, given by the first word of its text or by `do` of its data:
 * `complete`, `slow` (and how many ms), `fail`, `reject`, `input`, `auth` (and after how many ms it continues by
 * itself), `message`, `hang` (permanently), `large` (an artifact of that many bytes). Any other message is echoed
 * and completed.
 */
export class ObedientExecutor implements AgentExecutor {
  readonly #onTask: (taskId: string) => void;
  readonly #canceled = new Set<string>();

  constructor(onTask: (taskId: string) => void) {
    this.#onTask = onTask;
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const [order = "complete", argument] = orderOf(context.userMessage);
    if (order === "message") {
      bus.publish(AgentEvent.message(agentMessage(context, "no task is needed")));
      bus.finished();
      return;
    }
    const isNew = context.task === undefined;
    if (isNew) this.#onTask(context.taskId);
    bus.publish(
      AgentEvent.task({
        id: context.taskId,
        contextId: context.contextId,
        status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: now() },
        artifacts: context.task?.artifacts ?? [],
        history: context.task?.history ?? [context.userMessage],
        metadata: undefined,
      }),
    );
    await this.#work(context, bus, isNew ? order : "complete", argument);
    bus.finished();
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    this.#canceled.add(taskId);
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId: "",
        status: { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: now() },
        metadata: undefined,
      }),
    );
    bus.finished();
  }

  async #work(
    context: RequestContext,
    bus: ExecutionEventBus,
    order: string,
    argument: string | undefined,
  ): Promise<void> {
    const become = (state: TaskState, text?: string): void => {
      if (this.#canceled.has(context.taskId)) return;
      const message = text === undefined ? undefined : agentMessage(context, text);
      bus.publish(
        AgentEvent.statusUpdate({
          taskId: context.taskId,
          contextId: context.contextId,
          status: { state, message, timestamp: now() },
          metadata: undefined,
        }),
      );
    };
    switch (order) {
      case "reject":
        return become(TaskState.TASK_STATE_REJECTED, "not my kind of work");
      case "fail":
        become(TaskState.TASK_STATE_WORKING);
        return become(TaskState.TASK_STATE_FAILED, "it broke");
      case "input":
        return become(TaskState.TASK_STATE_INPUT_REQUIRED, "which one?");
      case "auth":
        become(TaskState.TASK_STATE_AUTH_REQUIRED, "who are you?");
        if (argument === undefined) return undefined;
        await delay(Number(argument));
        break;
      case "hang":
        become(TaskState.TASK_STATE_WORKING);
        await delay(3_600_000, undefined, { ref: false });
        return undefined;
      case "slow":
        become(TaskState.TASK_STATE_WORKING, "thinking");
        await delay(Number(argument ?? 1_000));
        break;
      default:
        break;
    }
    const size = order === "large" ? Number(argument ?? 100_000) : 0;
    bus.publish(
      AgentEvent.artifactUpdate({
        taskId: context.taskId,
        contextId: context.contextId,
        artifact: artifactFor(context.userMessage, size),
        append: false,
        lastChunk: true,
        metadata: undefined,
      }),
    );
    become(TaskState.TASK_STATE_COMPLETED, "done");
  }
}

function orderOf(message: Message): string[] {
  for (const { content } of message.parts) {
    if (content?.$case === "text") return content.value.split(" ");
    if (content?.$case === "data") {
      const order = (content.value as { do?: unknown } | null)?.do;
      if (typeof order === "string") return order.split(" ");
    }
  }
  return [];
}

function artifactFor(message: Message, size: number): Artifact {
  const large: Part[] = size > 0 ? [textPart("x".repeat(size))] : [];
  return {
    artifactId: randomUUID(),
    name: "echo",
    description: "",
    parts: [...message.parts, ...large],
    metadata: undefined,
    extensions: [],
  };
}

function agentMessage(context: RequestContext, text: string): Message {
  return {
    messageId: randomUUID(),
    contextId: context.contextId,
    taskId: context.task?.id ?? "",
    role: Role.ROLE_AGENT,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function textPart(text: string): Part {
  return {
    content: { $case: "text", value: text },
    metadata: undefined,
    filename: "",
    mediaType: "text/plain",
  };
}

function now(): string {
  return new Date().toISOString();
}

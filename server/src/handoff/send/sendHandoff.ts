import type { AttemptOutcome, AttemptResult, Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import { type Agent, type Agents, maskOf } from "../agent/agent.ts";
import type { AgentAnswer } from "../agent/callAgent.ts";
import { findTask } from "./findTask.ts";
import {
  beginHandoff,
  noteNothingSent,
  notePossibleDuplicate,
  type RecordDeps,
  recordHandoff,
} from "../record/handoffStore.ts";
import { classifyAnswer } from "./classifyAnswer.ts";
import { sendMessage } from "../agent/message.ts";
import type { TaskView } from "../agent/readTask.ts";
import type { RereadCard } from "../card/refreshCard.ts";
import type { Parts } from "../../items/parts.ts";

export interface SendHandoffDeps extends RecordDeps, Pick<Parts, "log" | "outbound"> {
  agents: Agents;
  /** Time limit of a whole attempt with all its requests, in milliseconds. */
  timeoutMs: number;
  /** The address to which an agent sends notifications about an event's task; null if agents cannot reach the service. */
  notificationUrl: ((eventId: string) => string) | null;
  /** Reads an agent's card again after the agent reported that its interface is gone. */
  rereadCard: RereadCard;
}

/** The part of an attempt's time that sending the message may take; the rest is for finding its task. */
const sendPart = 2 / 3;
/** The minimum remaining time for another request. */
const minRequestMs = 500;
const keptBodyBytes = 1024;

/** Makes one attempt to hand an item to its agent. The promise never rejects. */
export async function sendHandoff(
  deps: SendHandoffDeps,
  delivery: Delivery,
  target: TargetConfig,
): Promise<AttemptResult> {
  const attempt = new Attempt(deps, delivery);
  try {
    return await attempt.run(target);
  } catch (error) {
    deps.log.warn({ err: error, event_id: delivery.eventId }, "a handoff failed within the service");
    return attempt.result(again("an internal error ended the handoff"));
  }
}

/** The requests of one attempt, which share one time limit. */
class Attempt {
  readonly #deps: SendHandoffDeps;
  readonly #delivery: Delivery;
  readonly #startedAtMs = performance.now();
  readonly #endsAtMs: number;
  /** Whether the agent may have received the message in an earlier attempt. */
  #isResent = false;
  #statusCode = 0;
  #body: Buffer | null = null;
  #retryAfter: string | null = null;

  constructor(deps: SendHandoffDeps, delivery: Delivery) {
    this.#deps = deps;
    this.#delivery = delivery;
    // The attempt must end before its lease, because another node may take over the item afterwards.
    this.#endsAtMs = Math.min(this.#startedAtMs + deps.timeoutMs, delivery.leaseDeadlineMs - 1_000);
  }

  async run(target: TargetConfig): Promise<AttemptResult> {
    const { agents, direct } = this.#deps;
    const agent = await agents.get(target.id, target.version);
    if (agent === undefined) return this.result({ kind: "failed", error: "the target was deleted" });
    if ("fault" in agent.credential) return this.result(again(agent.credential.fault));
    const beginning = await beginHandoff(direct, this.#delivery);
    switch (beginning.kind) {
      case "stale":
        return this.result(again("the lease of the delivery ended before the attempt started"));
      case "accepted":
        this.#statusCode = 200;
        return this.result({ kind: "delivered" });
      case "unanswered":
        this.#isResent = true;
        return (await this.#findEarlier(agent, beginning.sinceMs)) ?? this.#send(agent);
      case "send":
        return this.#send(agent);
    }
  }

  result(outcome: AttemptOutcome): AttemptResult {
    return {
      outcome,
      statusCode: this.#statusCode,
      durationMs: Math.round(performance.now() - this.#startedAtMs),
      responseBody: this.#body,
      retryAfter: this.#retryAfter,
    };
  }

  /** Looks for the task of an earlier message; undefined if the message should be sent again. */
  async #findEarlier(agent: Agent, sinceMs: number): Promise<AttemptResult | undefined> {
    const search = await this.#search(agent, sinceMs);
    switch (search.kind) {
      case "found":
        return this.#accept(search.view);
      case "absent":
        return undefined;
      case "unknowable":
        await this.#notePossibleDuplicate();
        this.#deps.log.warn(
          { event_id: this.#delivery.eventId, target_id: agent.targetId, reason: search.reason },
          "a message is sent again although an earlier one may have made a task",
        );
        return undefined;
      case "unavailable":
        return this.result({
          kind: "retry",
          error: `an earlier message got no answer, and its task cannot be looked up: ${search.reason}`,
          countsTowardDisabling: true,
          slowDown: true,
        });
    }
  }

  async #send(agent: Agent, isSecond: boolean = false): Promise<AttemptResult> {
    const sentAtMs = this.#deps.nowMs();
    const limitMs = Math.min(this.#deps.timeoutMs * sendPart, this.#leftMs());
    if (limitMs < minRequestMs) return this.#decline(again("the service was too slow to send the message"));
    const answer = await this.#request(agent, limitMs);
    const meaning = classifyAnswer(answer, maskOf(agent));
    switch (meaning.kind) {
      case "accepted":
        // A list of tasks does not show an earlier message that was answered without a task.
        if (this.#isResent && meaning.view.taskId === null) await this.#notePossibleDuplicate();
        return this.#accept(meaning.view);
      case "declined":
        return this.#decline(meaning.outcome);
      case "unclear":
        return this.#clarify(agent, meaning, sentAtMs);
      case "moved": {
        const present = isSecond ? "same" : await this.#lookUpAgain(agent);
        if (present === "same") return this.#decline(meaning.outcome);
        return present === "unknown" ? this.#decline(meaning.unsure) : this.#send(present, true);
      }
    }
  }

  async #request(agent: Agent, timeoutMs: number): Promise<AgentAnswer> {
    const { outbound, notificationUrl } = this.#deps;
    const { eventId, payload, eventType, correlationId, sourceEventId } = this.#delivery;
    const parts = {
      messageId: eventId,
      payload,
      metadata: {
        event_id: eventId,
        ...(eventType !== null && { event_type: eventType }),
        ...(correlationId !== null && { correlation_id: correlationId }),
        ...(sourceEventId !== null && { source_event_id: sourceEventId }),
      },
    };
    const canNotify = agent.pushNotifications && notificationUrl !== null;
    const answer = await sendMessage(outbound, agent, parts, {
      timeoutMs,
      traceparent: this.#delivery.span?.traceparent,
      notifyAt: canNotify ? notificationUrl(eventId) : undefined,
    });
    if (answer.kind !== "failed") {
      this.#statusCode = answer.status;
      this.#body = answer.body.length > 0 ? answer.body.subarray(0, keptBodyBytes) : null;
      this.#retryAfter = answer.kind === "refused" ? answer.retryAfter : null;
    }
    return answer;
  }

  /**
   * Called after the answer was lost: looks for the task at once. If it cannot be found now, the next attempt looks before it
   * sends.
   */
  async #clarify(
    agent: Agent,
    { error, slowDown, isNow }: { error: string; slowDown: boolean; isNow: boolean },
    sentAtMs: number,
  ): Promise<AttemptResult> {
    const unclear = (more: string): AttemptResult =>
      this.result({ kind: "retry", error: `${error}; ${more}`, countsTowardDisabling: true, slowDown });
    const looksLater =
      "the agent may have received the message: its task is looked up before the message is sent again";
    if (!isNow || this.#leftMs() < minRequestMs) return unclear(looksLater);
    const search = await this.#search(agent, sentAtMs);
    switch (search.kind) {
      case "found":
        this.#statusCode = 200;
        return this.#accept(search.view);
      case "absent":
        return unclear(
          "the agent's task list does not show a task of the message yet, and is read again before the message is sent again",
        );
      case "unknowable":
        return unclear(
          `whether the agent received the message cannot be determined (${search.reason}): sending it again may create a second task`,
        );
      case "unavailable":
        return unclear(looksLater);
    }
  }

  #search(agent: Agent, sinceMs: number) {
    return findTask(this.#deps.outbound, agent, {
      messageId: this.#delivery.eventId,
      sinceMs,
      traceparent: this.#delivery.span?.traceparent,
      timeoutMs: Math.min(this.#deps.timeoutMs / 3, this.#leftMs()),
    });
  }

  /** Returns the agent with the interface that its card names now, if it differs from the one just tried. */
  async #lookUpAgain(agent: Agent): Promise<Agent | "same" | "unknown"> {
    const limitMs = this.#leftMs() - minRequestMs;
    if (limitMs < minRequestMs) return "unknown";
    const said = await this.#deps.rereadCard(agent.targetId, limitMs);
    // Another request may have read the card meanwhile.
    const present = await this.#deps.agents.get(agent.targetId, agent.version + 1);
    if (present === undefined || "fault" in present.credential) return "unknown";
    if (present.url !== agent.url || present.tenant !== agent.tenant) return present;
    return said === "same" ? "same" : "unknown";
  }

  async #decline(outcome: AttemptOutcome): Promise<AttemptResult> {
    await noteNothingSent(this.#deps.direct, this.#delivery);
    return this.result(outcome);
  }

  #notePossibleDuplicate(): Promise<void> {
    return notePossibleDuplicate(this.#deps.direct, this.#delivery.eventId);
  }

  async #accept(view: TaskView): Promise<AttemptResult> {
    const { eventId, targetId } = this.#delivery;
    await recordHandoff(this.#deps, {
      eventId,
      targetId,
      isAcceptance: true,
      view,
    });
    return this.result({ kind: "delivered" });
  }

  #leftMs(): number {
    return this.#endsAtMs - performance.now();
  }
}

/** The outcome of a failed attempt for which the agent is not to blame. */
function again(error: string): AttemptOutcome {
  return { kind: "retry", error, countsTowardDisabling: false, slowDown: false };
}

import { readFileSync } from "node:fs";
import type { OpenApiDocument, Parameter } from "../openapi.ts";
import { Html, html, inline, prose } from "./html.ts";
import { type Operation, operationsOf, type Response } from "./operations.ts";
import { samplesOf } from "./samples.ts";
import { descriptionOf, type SchemaRow, schemaRows, typeOf } from "./schemaRows.ts";

/** A page, or a file that pages load, ready to be sent. */
export interface ReferencePage {
  contentType: string;
  body: Buffer;
}

type Tag = OpenApiDocument["tags"][number];

/** The pages of the reference by their path below `/docs/`: '' is the first page, and each tag has a page. */
export function referencePages(document: OpenApiDocument): ReadonlyMap<string, ReferencePage> {
  const site = { document, operations: operationsOf(document) };
  const pages = document.tags.map((tag) => [slugOf(tag), page(tagPage(site, tag))] as const);
  return new Map([
    ["", page(firstPage(site))],
    ...pages,
    ["reference.css", asset("reference.css", "text/css; charset=utf-8")],
    ["reference.js", asset("reference.js", "text/javascript; charset=utf-8")],
    ["mark.svg", asset("mark.svg", "image/svg+xml")],
  ]);
}

interface Site {
  document: OpenApiDocument;
  operations: readonly Operation[];
}

function slugOf({ name }: Tag): string {
  return name.toLowerCase().replaceAll(/[^a-z]+/g, "-");
}

function page(content: Html): ReferencePage {
  return { contentType: "text/html; charset=utf-8", body: Buffer.from(`<!doctype html>\n${content.text}`) };
}

function asset(name: string, contentType: string): ReferencePage {
  return { contentType, body: readFileSync(new URL(name, import.meta.url)) };
}

interface Frame {
  title: string;
  /** The relative path from the page to `/docs/`. */
  root: string;
  current?: Tag;
  content: Html;
}

function frame({ document, operations }: Site, { title, root, current, content }: Frame): Html {
  const { info, tags } = document;
  return html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="description" content="${title}: the HTTP interface of Postrider" />
      <title>${title}</title>
      <link rel="icon" type="image/svg+xml" href="${root}mark.svg" />
      <link rel="stylesheet" href="${root}reference.css" />
      <script src="${root}reference.js" defer></script>
    </head>
    <body>
      <a class="skip" href="#content">Skip to the content</a>
      <header>
        <a class="brand" href="${root === "docs/" ? "docs" : "../docs"}">
          <img src="${root}mark.svg" alt="" width="20" height="20" />Postrider <span>API reference</span>
        </a>
        <span class="version">${info.version}</span>
        <a href="${root}../openapi.json">OpenAPI</a>
        ${languageChoice}
      </header>
      <div class="columns">
        <nav aria-label="Sections">
          <ul>
            ${tags.map(
              (tag) =>
                html`<li>
                  <a href="${root}${slugOf(tag)}" ${tag === current ? new Html(' aria-current="page"') : ""}
                    >${tag.name}</a
                  >
                  ${
                    tag === current &&
                    html`<ul>
                      ${operations.filter(isOf(tag)).map((one) => html`<li><a href="#${one.operationId}">${one.summary}</a></li>`)}
                    </ul>`
                  }
                </li>`,
            )}
          </ul>
        </nav>
        <main id="content">${content}</main>
      </div>
    </body>
  </html>`;
}

const languages = ["curl", "TypeScript", "Python"] as const;

const languageChoice = html`<fieldset>
  <legend>Samples in</legend>
  ${languages.map((language, index) => html`<label><input type="radio" name="language" id="in-${language}" value="${language}" ${index === 0 ? new Html(" checked") : ""} />${language}</label>`)}
</fieldset>`;

function isOf({ name }: Tag): (operation: Operation) => boolean {
  return ({ tag }) => tag === name;
}

function firstPage(site: Site): Html {
  const { document, operations } = site;
  const { info, tags } = document;
  const content = html`<h1>${info.title} API</h1>
    ${prose(info.description)}
    <h2 id="credentials">Credentials</h2>
    <ul>
      <li>
        Programs send an API key: <code>Authorization: Bearer ak_live_…</code>. A key may be limited to
        sending, to reading, to some mailboxes or to one customer.
      </li>
      <li>
        People send the token of a session: <code>X-Session-Token: …</code>. What their role has to be at
        least stands with each operation.
      </li>
    </ul>
    <p>
      The samples take both, and the address of the service, from the environment: <code>POSTRIDER_URL</code>,
      <code>POSTRIDER_KEY</code>, <code>POSTRIDER_SESSION</code>.
    </p>
    ${tags.map(
      (tag) =>
        html`<h2 id="${slugOf(tag)}"><a href="docs/${slugOf(tag)}">${tag.name}</a></h2>
          <p>${inline(tag.description)}</p>
          <ul class="operations">
            ${operations.filter(isOf(tag)).map(
              (one) =>
                html`<li>
                  <a href="docs/${slugOf(tag)}#${one.operationId}"
                    >${route(one)} <span>${one.summary}</span></a
                  >
                </li>`,
            )}
          </ul>`,
    )}`;
  return frame(site, { title: `${info.title} API reference`, root: "docs/", content });
}

function tagPage(site: Site, tag: Tag): Html {
  const content = html`<h1>${tag.name}</h1>
    <p>${inline(tag.description)}</p>
    ${site.operations.filter(isOf(tag)).map((one) => section(site, one))}`;
  return frame(site, { title: `${tag.name} · Postrider API reference`, root: "", current: tag, content });
}

function route({ method, path }: Operation): Html {
  return html`<span class="route"
    ><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></span
  >`;
}

function section({ document }: Site, operation: Operation): Html {
  const { operationId, summary, description, parameters, bodySchema, responses } = operation;
  const rows = bodySchema === undefined ? [] : schemaRows(document, bodySchema);
  return html`<section id="${operationId}" aria-labelledby="${operationId}-title">
    <h2 id="${operationId}-title"><a href="#${operationId}">${summary}</a></h2>
    <p>${route(operation)}</p>
    ${prose(description)}
    <p class="muted">${credentialText(operation)}</p>
    <div class="samples">
      ${samplesOf(operation).map(
        ({ language, text }) =>
          html`<pre
            data-language="${language}"
            tabindex="0"
            aria-label="${language}: ${summary}"
          ><code>${text}</code></pre>`,
      )}
    </div>
    ${
      parameters.length > 0 &&
      table(
        "Parameters",
        parameters.map((one) => parameterRow(document, one)),
      )
    }
    ${rows.length > 0 && table("Body", rows)}
    <h3>Answers</h3>
    ${responses.map((one) => answer(document, one))}
  </section>`;
}

function credentialText({ takesKey, leastRole, credential }: Operation): string {
  if (credential === "none") return "Needs no credential.";
  const session = leastRole === undefined ? "" : `a session of a ${leastRole}`;
  if (!takesKey) return `Needs ${session}.`;
  return session === "" ? "Needs an API key." : `Needs an API key or ${session}.`;
}

function parameterRow(document: OpenApiDocument, parameter: Parameter): SchemaRow {
  return {
    name: `${parameter.name} (${parameter.in})`,
    type: typeOf(document, parameter.schema),
    isRequired: parameter.required,
    description: parameter.description ?? descriptionOf(parameter.schema) ?? "",
  };
}

function table(title: string, rows: readonly SchemaRow[]): Html {
  return html`<h3>${title}</h3>
    <dl>
      ${rows.map(
        ({ name, type, isRequired, description }) =>
          html`<div>
            <dt>
              <code>${name}</code>
              <span class="type">${type}</span>${isRequired ? html` <em>required</em>` : ""}
            </dt>
            <dd>${inline(description)}</dd>
          </div>`,
      )}
    </dl>`;
}

function answer(document: OpenApiDocument, { status, description, schema, example }: Response): Html {
  const isGood = status.startsWith("2");
  const rows = schema === undefined || !isGood ? [] : schemaRows(document, schema);
  const head = html`<b class="${isGood ? "good" : "bad"}">${status}</b> ${inline(description)}`;
  if (rows.length === 0 && example === undefined) return html`<p class="answer">${head}</p>`;
  return html`<details${isGood ? new Html(" open") : ""}>
    <summary>${head}</summary>
    ${example !== undefined && html`<pre tabindex="0" aria-label="Example of an answer"><code>${JSON.stringify(example, undefined, 2)}</code></pre>`}
    ${rows.length > 0 && table("Fields", rows)}
  </details>`;
}

/** How a receiver checks that a delivery comes from this service; any Standard Webhooks library does the same. */
export const verificationSnippet = `// npm install standardwebhooks
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET); // whsec_…

app.post("/webhooks", express.raw({ type: "*/*" }), (request, response) => {
  try {
    webhook.verify(request.body, request.headers);
  } catch {
    return response.status(401).end();
  }
  // request.headers["webhook-id"] is the same at each attempt: use it to do things once.
  response.status(200).end();
});`;

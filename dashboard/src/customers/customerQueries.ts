import { queryOptions } from "@tanstack/react-query";
import { answer, client, given } from "../api/client.ts";
import type { Customer, Target } from "../api/shapes.ts";

export const customerPage = 50;

/** A page of customers, sorted by uid; `after` is the last uid of the previous page. @throws {Problem} */
export async function listCustomers(
  prefix: string | undefined,
  {
    after,
    limit = customerPage,
    signal,
  }: { after?: string | undefined; limit?: number; signal: AbortSignal },
): Promise<Customer[]> {
  const query = given({ limit, prefix, after });
  return (await answer(client.GET("/api/v1/customers", { params: { query }, signal }))).customers;
}

export function customerQuery(uid: string) {
  return queryOptions({
    queryKey: ["customers", "one", uid],
    queryFn: ({ signal }) =>
      answer(client.GET("/api/v1/customers/{uid}", { params: { path: { uid } }, signal })),
  });
}

export const customerTargetPage = 100;

/** A page of a customer's targets; `after` is the last id of the previous page. @throws {Problem} */
export async function listCustomerTargets(
  uid: string,
  {
    after,
    limit = customerTargetPage,
    signal,
  }: { after?: string | undefined; limit?: number; signal: AbortSignal },
): Promise<Target[]> {
  const query = given({ customer_uid: uid, limit, after });
  return (await answer(client.GET("/api/v1/targets", { params: { query }, signal }))).targets;
}

export const uidRule = "1 to 128 characters of A-Z a-z 0-9 . _ : -";

/** Attributes of a field for a uid. */
export const uidInput = { maxLength: 128, autoComplete: "off", spellCheck: false } as const;

export function isUid(text: string): boolean {
  return /^[A-Za-z0-9._:-]{1,128}$/.test(text);
}

-- What an API key is limited to.

-- Null for one that is not. Older processes take every key for such: the first one that is limited keeps them away, see
-- `keepOlderProcessesAway`. A customer's keys go with it.
alter table api_keys
  add column scope text,
  add column customer_uid text collate "C",
  add column mailbox_ids uuid[],
  add constraint api_keys_scope check (
    case scope
      when 'send' then customer_uid is null and mailbox_ids is null
      when 'read' then customer_uid is null and mailbox_ids is null
      when 'consume' then customer_uid is null and mailbox_ids is not null
      when 'customer' then customer_uid is not null and mailbox_ids is null
      else scope is null and customer_uid is null and mailbox_ids is null
    end
  ),
  add constraint api_keys_customer foreign key (org_id, customer_uid) references customers (org_id, uid)
    on delete cascade;
create index api_keys_of_customer on api_keys (org_id, customer_uid)
  where customer_uid is not null;

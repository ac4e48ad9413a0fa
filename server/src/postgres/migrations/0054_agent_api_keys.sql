-- An agent's credential may be an API key in a header of the agent's choice. Null for a bearer token, and without a credential.
alter table agent_cards
  add column auth_header text
  constraint agent_cards_auth_header_has_a_value check (auth_header is null or bearer is not null);

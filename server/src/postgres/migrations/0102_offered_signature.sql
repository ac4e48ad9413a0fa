-- The state of a newer card's signature, which waits for the owner's consent.
alter table agent_cards add column if not exists offered_signature text
  constraint agent_cards_offered_signature_is_worse check (offered_signature in ('unverified', 'invalid', 'none'));

-- The payload of the items of a publication; empty once it was erased, null for none. In a function of its own, so that
-- statements that read payloads do not open the publications of every day for the few items that have one.
create function publication_payload(p_publication uuid)
returns bytea language plpgsql stable as $$
declare
  v_payload bytea;
begin
  select p.payload
  into v_payload
  from publications p
  where p.bucket = get_byte(uuid_send(p_publication), 15)
    and p.id = p_publication;
  return v_payload;
end
$$;

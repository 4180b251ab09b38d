-- Takes it back.
DELETE FROM memos WHERE job = ''

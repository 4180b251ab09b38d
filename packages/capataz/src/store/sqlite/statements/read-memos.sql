-- ?1 job id
SELECT m.name, m.value FROM jobs j JOIN memos m ON m.job = j.n WHERE j.id = ?1

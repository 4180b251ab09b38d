-- ?1 number
SELECT timers FROM jobs WHERE n = ?1

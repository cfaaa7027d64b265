"""Prints the requests of a day: 2,000 lines, every 50th an error."""

for number in range(1, 2001):
    status = 500 if number % 50 == 0 else 200
    print(f"{number // 84:02}:{number % 60:02} GET /cart/{number} {status} {number % 90 + 10} ms")
